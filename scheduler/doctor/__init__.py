"""`flask --app app doctor`: is everything there, set up and allowed; if not, what to do."""
