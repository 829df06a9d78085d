"""What the README, the pages of docs/ and the notebooks of examples/ say is so."""
