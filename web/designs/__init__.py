"""A design document as files to take away: a workbook, a self-contained page."""
