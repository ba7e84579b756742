"""Which of many models to keep, without labels: candidates, UDR, choice of setting."""
