/** A client of Chat Gateway: the verbs of its HTTP API, streams that resume, and events reduced to a conversation. */

export { GatewayClient } from "./client.js";
export { Refused, Unreachable } from "./connection.js";
export type { EventPage, TurnMessage } from "./client.js";
export type { ClientOptions } from "./connection.js";
export { isKnown } from "./known.js";
export { isExact, parseExact } from "./json.js";
export { followSession, replaySession } from "./follow.js";
export type { FollowOptions, Link, ReplayOptions } from "./follow.js";
export { LiveSession } from "./live.js";
export type { LiveOptions, LiveView } from "./live.js";
export { answer, calls, emptyConversation, openTurn, prepend, reduce, reduceAll, show, versions } from "./reduce.js";
export { isOperation } from "./turn.js";
export type * from "./conversation.js";
export { PersistentMap } from "./persistent-map.js";
export type * from "./events.js";
export { EVENT_TYPES } from "./events.js";
export type * as api from "./api.js";
