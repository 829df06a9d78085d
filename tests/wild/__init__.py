"""Programs as people publish them: warts, shortcuts and habits included."""
