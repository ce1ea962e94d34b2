"""Speed of a cluster whose hosts have slow links."""
