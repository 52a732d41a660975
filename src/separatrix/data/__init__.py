"""From files to arrays: the data sets by name, and how they are split."""
