"""What a worker runs: functions that fetch, train and push."""
