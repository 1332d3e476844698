// Reads a stream with @durable-streams/client: `URL MODE FROM COUNT`. MODE is false, long-poll, sse or auto. Prints
// each event, and last the offset behind it; stops after COUNT events, or at a `done` if that is 0.
import { stream } from "@durable-streams/client"

const [url, mode, offset, count] = process.argv.slice(2)
const live = { false: false, auto: true }[mode] ?? mode
const print = (value) => process.stdout.write(JSON.stringify(value) + "\n")

const response = await stream({ url, offset, live })
if (live === false) {
  for (const event of await response.json()) print(event)
  print({ offset: response.offset })
} else {
  let seen = 0
  await new Promise((resolve) => {
    response.subscribeJson(async (batch) => {
      for (const event of batch.items) print(event)
      seen += batch.items.length
      const over = Number(count) ? seen >= Number(count) : batch.items.some((event) => event.type === "done")
      if (over) {
        print({ offset: batch.offset })
        response.cancel()
        resolve()
      }
    })
  })
}
process.exit(0)
