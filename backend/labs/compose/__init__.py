"""docker-compose.yml on a real Docker, which ends with the lab."""
