"""Where tasks run: calls come in, results go out, from processes, threads or Dask."""
