"""Scorecards of representations: plan, run, gather."""
