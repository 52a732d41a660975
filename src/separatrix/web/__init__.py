"""What our web servers share: refusals, headers, bodies, static files, listening sockets."""
