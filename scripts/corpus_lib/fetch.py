"""Repositories at their pinned commits."""
import os
import subprocess


def git(*command):
    return subprocess.run(["git", *command], capture_output=True, text=True)


def fetch_one(repo, folder):
    """Clones, or moves an earlier clone to the pinned commit. Returns what went wrong, or None."""
    if not os.path.isdir(os.path.join(folder, ".git")):
        if os.path.isdir(folder):
            return None  # a folder that the user put there: taken as it is
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        made = git("clone", "--quiet", "--no-checkout", "--filter=blob:none", repo.url, folder)
        if made.returncode:
            return made.stderr.strip()
    if git("-C", folder, "rev-parse", "HEAD").stdout.strip() == repo.commit and os.listdir(folder) != [".git"]:
        return None
    for command in (("fetch", "--quiet", "origin", repo.commit), ("checkout", "--quiet", "--force", repo.commit)):
        made = git("-C", folder, *command)
        if made.returncode:
            return made.stderr.strip()
    return None


def link_local(folder, local):
    """Uses a folder of the user's instead of a clone. Returns what went wrong, or None."""
    if not os.path.isdir(local):
        return f"{local} is no folder"
    if os.path.islink(folder):
        os.unlink(folder)
    if os.path.exists(folder):
        return f"{folder} exists already"
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    os.symlink(os.path.abspath(local), folder)
    return None
