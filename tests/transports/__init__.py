"""What only one transport can show: statuses, framing, disconnects, processes."""
