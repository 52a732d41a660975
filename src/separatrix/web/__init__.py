"""What our web servers share: refusals, headers, bodies, static files, sockets, uvicorn."""

MEGABYTE = 1024**2
