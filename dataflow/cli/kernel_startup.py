"""What a kernel of `dataflow lab` runs first: a cell that fails before anything is imported is explained, too.

After a restart the first NameError is often about what a cell above imports, and then nothing of this package is
loaded that could say so. JupyterLab's kernels run the file that PYTHONSTARTUP names, in the notebook's own
names, so that what is defined here is taken away again; the file that the user's own PYTHONSTARTUP named is in
DATAFLOW_PYTHONSTARTUP, and runs as well. A Python that is no notebook's only runs that one.
"""


def _begin() -> None:
    import os
    import sys
    from typing import Any

    def explain(result: Any) -> None:
        error = result.error_in_exec
        # Once it is loaded, dataflow's own handler of errors does this.
        if not isinstance(error, NameError) or "dataflow" in sys.modules:
            return
        from dataflow.notebook_advice import advice, tell

        if told := advice(error, error.__traceback__):
            tell(told)

    own = os.environ.get("DATAFLOW_PYTHONSTARTUP")
    find_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = find_shell() if find_shell else None
    if own and os.path.isfile(own):
        if shell is not None:
            shell.safe_execfile(own, shell.user_ns)
        else:
            with open(own, encoding="utf-8") as file:
                exec(compile(file.read(), own, "exec"), globals())
    if shell is not None:
        shell.events.register("post_run_cell", explain)


_begin()
del _begin
