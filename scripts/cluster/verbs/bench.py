from ..session import Session


def bench(session: Session) -> None:
    """Runs."""
