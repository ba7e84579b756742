"""Are novel combinations of familiar features recognised?"""
