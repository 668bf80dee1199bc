"""From evidence to the HTML and PDF report; reads evidence and nothing else."""
