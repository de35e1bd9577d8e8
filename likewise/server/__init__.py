"""HTTP API, jobs, security; static/ holds the web page."""
