/**
 * Makes a function of one item out of a function of many. Calls in the same turn of the event loop share one run, such
 * as those of attempts that begin together.
 * @param run does the work of all items that were asked for with the same context; a result for each, in their order
 */
export function askedAtOnce<Context, Item, Result>(
  run: (context: Context, items: Item[]) => Promise<Result[]>,
): (context: Context, item: Item) => Promise<Result> {
  const asked = new Map<Context, { items: Item[]; results: Promise<Result[]> }>()

  return async (context, item) => {
    const batch = asked.get(context) ?? open(context)
    const index = batch.items.push(item) - 1
    return (await batch.results)[index]!
  }

  function open(context: Context) {
    const items: Item[] = []
    const results = Promise.resolve().then(() => {
      asked.delete(context)
      return run(context, items)
    })
    const batch = { items, results }
    asked.set(context, batch)
    return batch
  }
}
