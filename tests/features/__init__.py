"""What a server does, through its public API, over every transport."""
