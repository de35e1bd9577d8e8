"""The single record of what is true: catalogue, vector segments, generations, models, jobs."""
