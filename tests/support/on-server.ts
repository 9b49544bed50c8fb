/** Statements on short connections of their own. */
import postgres from 'postgres'

/** The same URL with another database. */
export function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

/** The URL with more parameters, such as `sslmode=require`. */
export function withParameters(url: string, parameters: string): string {
  const changed = new URL(url)
  for (const [name, value] of new URLSearchParams(parameters)) changed.searchParams.set(name, value)
  return changed.href
}

/** Runs statements in the server's database `postgres`. */
export function runOnServer<T>(url: string, work: (server: postgres.Sql) => Promise<T>): Promise<T> {
  return runOnDatabase(withDatabase(url, 'postgres'), work)
}

/** Runs statements in the database that the URL names. */
export async function runOnDatabase<T>(url: string, work: (database: postgres.Sql) => Promise<T>): Promise<T> {
  const database = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await work(database)
  } finally {
    await database.end()
  }
}
