"""`memory_view`: list a folder of the user's files."""

from pydantic import Field

from langgraph_fabric._flow import Flow, call
from langgraph_fabric.tools.calls import Answer, Arguments, Context, ToolSpec, no_root, refusal


class ViewArguments(Arguments):
    """Arguments of `memory_view`."""

    path: str = Field(".", description="A folder, relative; '.' for all files of this user")


def _view(context: Context, arguments: ViewArguments) -> Flow[Answer]:
    jail = context.jail
    if jail is None:
        return no_root()
    listing = yield from call(lambda: jail.view(arguments.path))
    if listing is None:
        return refusal("not_found", f"there is no folder {arguments.path!r}")
    lines = [
        f"{entry.name}/" if entry.kind == "directory" else f"{entry.name} ({entry.bytes} bytes)"
        for entry in listing.entries
    ]
    if listing.truncated:
        lines.append(f"Only the first {len(listing.entries)} entries are shown.")
    entries = [
        {"name": entry.name, "kind": entry.kind}
        | ({} if entry.bytes is None else {"bytes": entry.bytes})
        for entry in listing.entries
    ]
    return Answer(
        "\n".join(lines) or f"{listing.path} is empty.",
        {
            "found": True,
            "path": listing.path,
            "entries": entries,
            "truncated": listing.truncated,
        },
    )


VIEW = ToolSpec(
    "view", "List the files kept in memory for this user, in one folder.", ViewArguments, _view
)
