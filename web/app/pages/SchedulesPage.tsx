// Messages that are sent at set times: a form for a new one, and each with its switch and its last runs.

import type { api } from "@chat-gateway/client";

import { client, useWords } from "../state";
import { useCardList } from "./card-list";
import { CardsPage } from "./CardsPage";
import { ScheduleCard } from "./schedules/ScheduleCard";
import { ScheduleForm } from "./schedules/ScheduleForm";
import { words as table } from "./schedules/schedule-words";

const read = async () => (await client.schedules()).schedules;

export default function SchedulesPage() {
  const words = useWords(table);
  const cards = useCardList(read);
  const { attempt, report, changed, gone } = cards;
  const add = async (body: api.ScheduleBody) => {
    let name = "";
    const isAdded = await cards.add(async () => {
      ({ name } = await client.createSchedule(body));
    });
    if (isAdded) report(words.created(name));
  };
  return (
    <CardsPage cards={cards} words={words} form={<ScheduleForm onDone={add} onCancel={() => cards.setAdding(false)} />}>
      {(schedule) => <ScheduleCard key={schedule.id} schedule={schedule} attempt={attempt} onChanged={changed} onGone={gone} />}
    </CardsPage>
  );
}
