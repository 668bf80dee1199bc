"""A campaign of false claims: what an honest author might write, and the nearest true claim beside each."""
