/**
 * Does work for things of several organizations: for those of each organization together, and for the organizations side by
 * side. A statement about one organization can be answered by the one node of a cluster that has it.
 * @param organizationOf the organization of a thing
 * @param run does the work of one organization; a result for each of its things, in their order
 * @returns the results, in the order of all things
 * @throws the error of the first organization to fail, once the work of all has ended
 */
export async function byOrganization<Item, Result>(
  items: Item[],
  organizationOf: (item: Item) => string,
  run: (items: Item[], organization_id: string) => Promise<Result[]>,
): Promise<Result[]> {
  const results = new Map<Item, Result>()
  const groups = [...Map.groupBy(items, organizationOf)].map(async ([organization_id, group]) => {
    const found = await run(group, organization_id)
    group.forEach((item, index) => {
      results.set(item, found[index]!)
    })
  })
  await Promise.allSettled(groups)
  await Promise.all(groups)
  return items.map((item) => results.get(item)!)
}
