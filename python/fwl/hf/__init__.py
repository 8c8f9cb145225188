"""Fast weights for models of Hugging Face's transformers. Nothing here is imported before it is needed."""

from fwl._C import UserError

TRANSFORMERS_VERSION = "4.57"  # as pinned in dependencies.toml; its private parts change between minor versions


def check_transformers(where: str) -> None:
    """Raises a UserError unless the transformers that this package knows can be imported."""
    try:
        import transformers
    except ImportError:
        raise UserError(f"{where}: expected transformers {TRANSFORMERS_VERSION}, got none; "
                        f"pip install 'transformers~={TRANSFORMERS_VERSION}.0'") from None
    if not transformers.__version__.startswith(TRANSFORMERS_VERSION + "."):
        raise UserError(f"{where}: expected transformers {TRANSFORMERS_VERSION}, got {transformers.__version__}; "
                        f"pip install 'transformers~={TRANSFORMERS_VERSION}.0'")
