"""The code that every page shows beside its result."""


def require_code(tab, python, command):
    """The page shows Python that compiles with this text, and after a key press this command."""
    from playwright.sync_api import expect  # the caller has it

    code = tab.get_by_role("tabpanel")
    expect(code).to_contain_text(python)
    compile(code.text_content(), "shown", "exec")
    tab.get_by_role("tab", name="Python").press("ArrowRight")
    expect(code).to_contain_text(command)
