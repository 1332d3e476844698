"""The routes of usage by the month, and of those who look after a gateway."""

from gateway.api import usage_routes as usage
from gateway.api.usage_routes import CSV, MonthQuery, MonthReply, UserList, UserMonthQuery, UsersQuery
from gateway.http.endpoint import Cost, Endpoint

ADMIN = (
    Endpoint(
        "GET",
        "/api/usage/month",
        "usage.read",
        usage.own_month,
        {200: (MonthReply, CSV)},
        query=MonthQuery,
        cost=Cost("search"),
    ),
    Endpoint(
        "GET",
        "/api/users",
        "user.list",
        usage.find_users,
        {200: (UserList,)},
        query=UsersQuery,
        refusals=(403,),
        cost=Cost("search"),
    ),
    Endpoint(
        "GET",
        "/api/users/{user}/usage",
        "other_person.read_usage",
        usage.month_of_user,
        {200: (MonthReply, CSV)},
        query=UserMonthQuery,
        refusals=(403,),
        cost=Cost("search"),
    ),
)
