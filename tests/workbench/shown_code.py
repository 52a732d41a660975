"""The code that every page shows beside its result."""

import ast


def require_code(tab, python, command):
    """The page shows Python that compiles with this text, and after a key press this command."""
    from playwright.sync_api import expect  # the caller has it

    code = tab.get_by_role("tabpanel")
    expect(code).to_contain_text(python)
    compile(code.text_content(), "shown", "exec")
    tab.get_by_role("tab", name="Python").press("ArrowRight")
    expect(code).to_contain_text(command)


def compare_arguments(code):
    """The file and the target of the call of `compare_data` in Python code."""
    calls = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    call = next(call for call in calls if getattr(call.func, "id", "") == "compare_data")
    target = next(word.value for word in call.keywords if word.arg == "target")
    return ast.literal_eval(call.args[0]), ast.literal_eval(target)
