"""What is between a model's wish and what is done: approvals, skills, MCP servers, steps."""

from panels import Board, Row, graph, legend, per_minute, quantile, table

DECISIONS = "gateway_approvals_total"
WAIT = "gateway_approval_wait_seconds"
USES = "gateway_skill_uses_total"
STEPS = "gateway_tool_steps_total"
TOOL = "gen_ai_tool_name"
DECISION = "gateway_approval_decision"
BY = "gateway_approval_by"
SKILL = "gateway_skill_name"
ACTION = "gateway_skill_action"
TYPE = "gateway_skill_type"
ENABLED = "gateway_skill_enabled"
SERVER = "gateway_mcp_server"
REMEMBERED = "gateway_memory_type"
PERSON = f'{BY}="user"'


def _decided(where: str) -> str:
    return f"sum by ({TOOL}) (increase({DECISIONS}{{@,{where}}}[$__range]))"


def _used(action: str) -> str:
    return f'sum by ({SKILL}) (increase({USES}{{@,{ACTION}="{action}"}}[$__range]))'


_approvals = Row(
    "Approvals",
    [
        graph(
            "Decisions",
            "Whether calls may run, and who said so: a user, a user before, the policy, or nobody in time.",
            "cpm",
            {legend(DECISION, BY): per_minute(DECISIONS, DECISION, BY)},
            stacked=True,
        ),
        graph(
            "Turns that wait for a person",
            "They cost nothing meanwhile. What only grows is seen by nobody.",
            "short",
            {legend("instance"): "max by (instance) (gateway_turn_parked{@})"},
        ),
        graph(
            "Time until an answer",
            "Of the calls that a person decided. Points are traces.",
            "s",
            {f"p{share * 100:g}": quantile(share, WAIT, where=PERSON) for share in (0.5, 0.95)},
            exemplars=True,
        ),
        table(
            "Decisions by tool",
            "Over the time shown. A tool that is always approved may not need to be asked about.",
            "short",
            {
                "approved": _decided(f'{DECISION}="approved",{PERSON}'),
                "denied": _decided(f'{DECISION}="denied",{PERSON}'),
                "expired": _decided(f'{BY}="expiry"'),
                "against the policy": _decided(f'{BY}="policy"'),
            },
            width=24,
        ),
    ],
)

_skills = Row(
    "Skills",
    [
        graph(
            "Skills read and refused",
            "A refusal is a call that a skill forbids, or that needs one which was not read.",
            "cpm",
            {legend(SKILL, ACTION): per_minute(USES, SKILL, ACTION)},
            stacked=True,
        ),
        graph(
            "Catalog",
            "What the model may use, by type and whether it is enabled.",
            "short",
            {legend(TYPE, ENABLED): f"max by ({TYPE}, {ENABLED}) (gateway_skills{{@}})"},
        ),
        table(
            "Uses by skill",
            "Over the time shown. One that nobody reads has a description that says too little.",
            "short",
            {"read": _used("read"), "refused": _used("refused")},
            width=8,
        ),
    ],
)

_servers = Row(
    "MCP servers and steps",
    [
        graph(
            "MCP servers",
            "1 where a server can be used, 0 where it is away; the gateway goes on trying.",
            "short",
            {legend(SERVER, "instance"): f"min by ({SERVER}, instance) (gateway_mcp_up{{@}})"},
            width=6,
        ),
        graph(
            "Steps by tool",
            "What tools told of their own work.",
            "cpm",
            {legend(TOOL): per_minute(STEPS, TOOL)},
            stacked=True,
            width=6,
        ),
        graph(
            "Steps that failed",
            "By tool and type of error. The call may have gone on without them.",
            "cpm",
            {legend(TOOL, "error_type"): per_minute(STEPS, TOOL, "error_type", where='error_type!=""')},
            stacked=True,
            width=6,
        ),
        graph(
            "Worth remembering",
            "What tools suggested to the memory, by type.",
            "cpm",
            {legend(REMEMBERED): per_minute("gateway_memory_suggestions_total", REMEMBERED)},
            stacked=True,
            width=6,
        ),
    ],
)

SKILLS = Board(
    "skills",
    "Skills and approvals",
    "What the model may do, who allowed it, and what came of it.",
    [_approvals, _skills, _servers],
)
