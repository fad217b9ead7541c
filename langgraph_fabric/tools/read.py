"""`memory_read`: read one of the user's files."""

from pydantic import Field

from langgraph_fabric._flow import Flow, call
from langgraph_fabric.tools.calls import Answer, Arguments, Context, ToolSpec, no_root, refusal


class ReadArguments(Arguments):
    """Arguments of `memory_read`."""

    path: str = Field(description="A file, relative, as memory_view lists it")


def _read(context: Context, arguments: ReadArguments) -> Flow[Answer]:
    jail = context.jail
    if jail is None:
        return no_root()
    file = yield from call(lambda: jail.read(arguments.path))
    if file is None:
        return refusal("not_found", f"there is no file {arguments.path!r}")
    notice = (
        f"\n[Cut: the first {jail.max_file_bytes:,} of {file.bytes:,} bytes.]"
        if file.truncated
        else ""
    )
    value = {
        "found": True,
        "path": file.path,
        "text": file.text,
        "bytes": file.bytes,
        "truncated": file.truncated,
    }
    return Answer(file.text + notice, value)


READ = ToolSpec("read", "Read one file kept in memory for this user.", ReadArguments, _read)
