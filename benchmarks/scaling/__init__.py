"""How training scales: clusters that are run, and clusters that are simulated."""
