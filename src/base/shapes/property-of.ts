/** One property of each entry of a table, by the names of the entries. */
export function propertyOf<Table extends Record<string, object>, Key extends keyof Table[keyof Table]>(
  table: Table,
  key: Key,
) {
  const values = Object.entries(table).map(([name, entry]) => [name, (entry as Table[keyof Table])[key]])
  return Object.fromEntries(values) as { [Name in keyof Table]: Table[Name][Key & keyof Table[Name]] }
}
