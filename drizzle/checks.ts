/**
 * Takes the table's name away from the columns of checks that a migration adds to a table: a cluster renames the table.
 * @param sql of a migration as the generator writes it
 */
export function withoutTables(sql: string): string {
  return sql.replace(/^ALTER TABLE ("\w+") ADD CONSTRAINT "\w+" CHECK .*$/gm, (line, table: string) =>
    line.replaceAll(`${table}.`, ''),
  )
}
