"""What older programs write, and settings that are accepted and change nothing."""
