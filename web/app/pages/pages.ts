// The pages beside the conversation, each loaded when it is opened first.

import { type ComponentType, lazy } from "react";

import type { Page } from "../page-address";

export const PAGE_COMPONENTS: Readonly<Record<Page, ComponentType>> = {
  inbox: lazy(() => import("./InboxPage")),
  memory: lazy(() => import("./MemoryPage")),
  skills: lazy(() => import("./SkillsPage")),
  artifacts: lazy(() => import("./ArtifactsPage")),
  schedules: lazy(() => import("./SchedulesPage")),
  webhooks: lazy(() => import("./WebhooksPage")),
  admin: lazy(() => import("./AdminPage")),
  link: lazy(() => import("./LinkPage")),
  links: lazy(() => import("./LinksPage")),
  usage: lazy(() => import("./UsagePage")),
  prompts: lazy(() => import("./PromptsPage")),
};
