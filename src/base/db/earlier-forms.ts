/**
 * Four migrations were changed after databases had them, on 22 November 2026, and no later one ever was. A database
 * that has an earlier form gets here what it lacks, as a step of its own before the missing migrations.
 */

/**
 * From here on there is no earlier form: with one, this migration failed. Only notes of a restored database may say so.
 */
const LAST_WITH_EARLIER_FORMS = '0026_beside_older_processes'

type EarlierForm = {
  name: string
  /** SHA-256 of the earlier text. */
  hash: string
  /** Leads from the earlier form to the present one. It may run on a database that has the present form. */
  mend(present: string[]): string[]
}

const EARLIER_FORMS: EarlierForm[] = [
  {
    name: '0018_reply_to',
    hash: 'ae544643049f75533af2914b444d29e2266d1804e9bc336020dca03ba4fd95d7',
    mend: () => ['ALTER TABLE "time_entries" ADD COLUMN IF NOT EXISTS "company_id" uuid'],
  },
  {
    name: '0019_time_totals',
    hash: 'f7b412f8e4100327d17120bf57a1c774338cd3f5171fa0a4749d605fbdc9ad20',
    // Later migrations make these indexes now, and replace the two others that the earlier form made.
    mend: () => ['DROP INDEX IF EXISTS "contacts_list"', 'DROP INDEX IF EXISTS "time_entries_company"'],
  },
  {
    name: '0021_contact_sorts',
    hash: 'c7cf4bb4c60da36725d591b6934543da7520db4cd973c818be3738a6c0857d65',
    mend: (present) => present.filter((statement) => !/"contacts_(updated|name)"/.test(statement)),
  },
  {
    name: '0022_all_tickets',
    hash: '5f7a4af7ae50e19b36726dd0a476db496acbf8669e3b14d402a79c7d970f0854',
    mend: (present) => present.filter((statement) => /tally_changed_ticket|tickets_change_tallies/.test(statement)),
  },
]

/** True for the hash that an earlier text of a migration had. */
export function isEarlierForm(name: string, hash: string): boolean {
  return EARLIER_FORMS.some((form) => form.name === name && form.hash === hash)
}

/**
 * Lists what brings earlier forms to the present ones.
 * @param migrations all of this release
 * @param applied the names of those that the database has, with the hashes that it has noted
 */
export function mendsOf<Migration extends { name: string; statements: string[] }>(
  migrations: Migration[],
  applied: Map<string, string>,
): Migration[] {
  const last = migrations.findIndex(({ name }) => name === LAST_WITH_EARLIER_FORMS)
  if (migrations.slice(last + 1).some(({ name }) => applied.has(name))) return []
  return EARLIER_FORMS.filter(({ name, hash }) => applied.get(name) === hash).flatMap(({ name, mend }) => {
    const present = migrations.find((migration) => migration.name === name)!
    return { ...present, name: `${name} (from its earlier form)`, statements: mend(present.statements), replaces: true }
  })
}
