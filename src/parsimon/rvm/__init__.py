"""Relevance vector machines, and fronts of true positives, false alarms and model size."""
