import json

from click.testing import CliRunner

from separatrix.cli import main, site


def run(*words):
    return CliRunner().invoke(main, ["docs", *words])


def test_a_built_site_is_opened_and_its_address_printed(tmp_path, monkeypatch):
    page = tmp_path / site.BUILT
    page.parent.mkdir(parents=True)
    page.write_text("<title>separatrix</title>")
    opened = []
    monkeypatch.setattr(site, "find_site", lambda: page)
    monkeypatch.setattr(site.webbrowser, "open", opened.append)

    assert run().output.strip() == page.as_uri()
    assert opened == [page.as_uri()]
    assert run("--no-browser").exit_code == 0
    assert len(opened) == 1


def test_the_site_of_the_current_folder_is_found(tmp_path, monkeypatch):
    page = tmp_path / site.BUILT
    page.parent.mkdir(parents=True)
    page.write_text("<title>separatrix</title>")
    monkeypatch.setattr(site, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "site.py"))
    monkeypatch.chdir(tmp_path)

    assert site.find_site() == page


def test_without_a_site_the_command_says_how_to_build_it(monkeypatch):
    monkeypatch.setattr(site, "find_site", lambda: None)

    done = run()

    assert done.exit_code == 0
    assert "make docs" in done.output
    assert json.loads(run("--json").output) == {"site": None}
