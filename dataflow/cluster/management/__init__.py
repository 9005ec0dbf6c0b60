"""Tasks and clusters as processes: servers, Ray, training loops."""
