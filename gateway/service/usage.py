"""What users used in a month: by the day, the model and the chat, what was used beside turns included."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from gateway.auth import Principal
from gateway.auth.static_keys import StaticKeys
from gateway.errors import InvalidRequest
from gateway.ids import DAY_MS, now_ms
from gateway.service.admin_rights import is_operator
from gateway.settings import Settings
from gateway.storage.limits import SideUsage
from gateway.storage.limits.store import Limits
from gateway.storage.turns import DELETED_SESSIONS, UsedIn, UsedTurns
from gateway.storage.turns.store import Turns
from gateway.storage.users import KnownUser, Users
from gateway.tools.clock import zone

MAX_SESSIONS = 10
"""Chats that are named: those that cost most."""
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Month:
    """A month by the clocks of a time zone. Days are days since 1970, moments Unix milliseconds."""

    year: int
    month: int
    timezone: str

    @classmethod
    def named(cls, name: str | None, timezone: str, now: int) -> "Month":
        """`2026-11`; None: the month of `now`. Raises errors.InvalidRequest: there is no such time zone."""
        try:
            clocks = zone(timezone)
        except ValueError as error:
            raise InvalidRequest(str(error)) from None
        if name is not None:
            return cls(int(name[:4]), int(name[5:]), timezone)
        today = datetime.fromtimestamp(now / 1000, clocks)
        return cls(today.year, today.month, timezone)

    @property
    def name(self) -> str:
        return f"{self.year:04}-{self.month:02}"

    @property
    def bounds(self) -> tuple[int, int]:
        """Its first moment and its last."""
        return self._begin(date(self.year, self.month, 1)), self._begin(self._next) - 1

    @property
    def days(self) -> tuple[int, int]:
        """Its first day and its last."""
        return (date(self.year, self.month, 1) - _EPOCH).days, (self._next - _EPOCH).days - 1

    def day_of(self, at: int) -> int:
        """The day of a moment."""
        return (datetime.fromtimestamp(at / 1000, zone(self.timezone)).date() - _EPOCH).days

    @property
    def _next(self) -> date:
        return date(self.year + self.month // 12, self.month % 12 + 1, 1)

    def _begin(self, day: date) -> int:
        return int(datetime.combine(day, time(), zone(self.timezone)).timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class MonthUsage:
    """Each part of `by_day_and_model` is in one day (`2026-11-30`) and of one model. `sessions` are the chats
    that cost most; `deleted` is what chats used that are deleted since, and `beside` what each purpose beside
    turns did, by name. `since` is the first month of which something is known, None: of none."""

    month: Month
    by_day_and_model: Mapping[tuple[str, str], UsedTurns]
    sessions: Sequence[UsedIn]
    deleted: UsedTurns
    beside: Mapping[str, UsedTurns]
    since: str | None

    @property
    def total(self) -> UsedTurns:
        return sum(self.by_day_and_model.values(), UsedTurns())

    @property
    def by_day(self) -> Mapping[str, UsedTurns]:
        """In their order, those with something."""
        return _summed((day, used) for (day, _), used in sorted(self.by_day_and_model.items()))

    @property
    def by_model(self) -> Mapping[str, UsedTurns]:
        """By name."""
        return _summed((model, used) for (_, model), used in self.by_day_and_model.items())


class UserUsage:
    """One per process. Months begin by the clocks of a person; what is kept of deleted chats and beside turns
    counts to the day of UTC."""

    def __init__(self, turns: Turns, limits: Limits, known: Users, settings: Settings) -> None:
        self._turns, self._limits, self._known = turns, limits, known
        self._roles = _roles_of(settings)

    async def of_month(self, user_id: str, month: Month) -> MonthUsage:
        """Raises errors.SearchTooLong: there is more than can be added up in a few seconds."""
        first, last = month.bounds
        parts: defaultdict[tuple[str, str], UsedTurns] = defaultdict(UsedTurns)
        for when in await self._turns.used_when(user_id, first, last):
            parts[_name(month.day_of(when.at)), when.model] += when.used
        deleted, beside = UsedTurns(), defaultdict[str, UsedTurns](UsedTurns)
        for each in await self._limits.side_usage_of_days(user_id, *month.days):
            used = _of_side(each.used)
            parts[_name(each.day), each.used.model] += used
            if each.used.purpose == DELETED_SESSIONS:
                deleted += used
            else:
                beside[each.used.purpose] += used
        sessions = await self._turns.used_in(user_id, first, last, MAX_SESSIONS)
        return MonthUsage(month, parts, sessions, deleted, beside, await self._since(user_id, month.timezone))

    async def users(
        self, who: Principal, month: Month, *, after: str, limit: int
    ) -> Sequence[tuple[KnownUser, UsedTurns]]:
        """At most `limit` users of an admin's tenant behind the id `after`, or of all tenants for the
        operator: those with something here and those whom the settings name, each with what they used. Raises
        errors.SearchTooLong."""
        of_all = is_operator(who)
        page = await self._known.page(
            now_ms(),
            after=after,
            limit=limit,
            tenant=None if of_all else who.tenant,  # the default one's admins are operators
            named=self._roles if of_all else (),
        )
        used = await self._of_users([each.user_id for each in page], month)
        return [(self._with_roles(each), used.get(each.user_id, UsedTurns())) for each in page]

    def _with_roles(self, known: KnownUser) -> KnownUser:
        return replace(known, roles=known.roles | self._roles.get(known.user_id, frozenset()))

    async def _of_users(self, user_ids: Sequence[str], month: Month) -> Mapping[str, UsedTurns]:
        found = dict(await self._turns.used_by(user_ids, *month.bounds))
        for user_id, each in await self._limits.side_usage_of_users(user_ids, *month.days):
            found[user_id] = found.get(user_id, UsedTurns()) + _of_side(each)
        return found

    async def _since(self, user_id: str, timezone: str) -> str | None:
        at, day = await self._turns.first_used(user_id), await self._limits.first_side_day(user_id)
        known = [each for each in (at, None if day is None else day * DAY_MS) if each is not None]
        return Month.named(None, timezone, min(known)).name if known else None


def _roles_of(settings: Settings) -> Mapping[str, frozenset[str]]:
    """The roles that the settings give, by user: those of keys there, and of admins. A key that acts for
    others is itself nobody."""
    keys = StaticKeys.of(settings)
    roles: dict[str, frozenset[str]] = {
        name: frozenset(("member",)) for name in keys.names - frozenset(settings.delegate_keys)
    }
    for name in settings.admins:
        roles[name] = roles.get(name, frozenset()) | {"admin"}
    return roles


def _of_side(used: SideUsage) -> UsedTurns:
    """Calls beside turns are no turns; those of deleted chats were."""
    count = used.calls if used.purpose == DELETED_SESSIONS else 0
    return UsedTurns(count, used.input_tokens, used.output_tokens, used.cost / 1_000_000, used.unpriced)


def _summed(parts: Iterable[tuple[str, UsedTurns]]) -> Mapping[str, UsedTurns]:
    sums: dict[str, UsedTurns] = {}
    for name, used in parts:
        sums[name] = sums.get(name, UsedTurns()) + used
    return sums


def _name(day: int) -> str:
    return (_EPOCH + timedelta(days=day)).isoformat()
