"""What a session says of its episodes: pytest's reports, progress, summary, gates, and the files of other tools."""
