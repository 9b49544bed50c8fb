/** Makes the organizations of a data set with their people, companies, labels and mailbox. */
import type postgres from 'postgres'
import { addressKey } from '../../../src/base/address/email'
import {
  companies,
  contacts,
  labels,
  mailboxes,
  memberships,
  teams,
  ticket_counters,
  users,
} from '../../../src/base/db/schema'
import { fold } from '../../../src/base/shapes/fold'
import { copyRows } from './copy-rows'
import type { Random } from './random'
import { WORDS } from './zipf-text'

export type Contact = { id: string; name: string; email: string; company_id: string | null }

/** An organization, and what its tickets point to. */
export type Tenant = {
  id: string
  /** See `organizations.number`. */
  number: number
  prefix: string
  /** Number of tickets that it is to have. */
  size: number
  mailbox_id: string
  users: { id: string; name: string }[]
  contacts: Contact[]
  labels: string[]
  teams: string[]
  /** A policy that is switched off; its schedule still counts the minutes of the tickets that had it. */
  policy_id: string
}

/** The account that is an admin of every organization. */
export type Admin = { id: string; password_hash: string }

/** Time that the tickets are spread over. */
export const START_MS = Date.UTC(2023, 10, 2)
export const SPAN_MS = 3 * 365 * 86_400_000

const FIRST_NAMES = (
  'Anna Ben Carla David Elena Frank Grace Hugo Irene Jan Karl Lena Marco Nina Oscar Paula Quentin Rosa Sven Tina Uwe Vera ' +
  'Walter Xenia Yusuf Zoe'
).split(' ')
const LAST_NAMES = (
  'Adler Berg Costa Diaz Evans Fischer Garcia Huber Ivanov Jensen Keller Lopez Meyer Novak Olsen Petrov Quinn Rossi ' +
  'Schmidt Torres Ueda Vogel Weber Xu Young Zhang'
).split(' ')
const COLORS = ['#EF4444', '#F97316', '#EAB308', '#22C55E', '#3B82F6', '#8B5CF6', '#6B7280']
/** Share of the contacts that belong to a company. */
const IN_COMPANY = 0.8
const TEAMS = 10

/** The id of the organization with this place in BENCH_ORGS, counted from 1. */
export function tenantId(place: number): string {
  return `00000000-0000-7000-8000-${place.toString(16).padStart(12, '0')}`
}

/** The address of that organization's mailbox. */
export function tenantMailbox(place: number): string {
  return `support@org${place}.example`
}

/** Writes organizations with these numbers of tickets, without the tickets. */
export async function createTenants(
  sql: postgres.Sql,
  random: Random,
  sizes: number[],
  admin: Admin,
): Promise<Tenant[]> {
  const tenants: Tenant[] = []
  for (const [index, size] of sizes.entries()) tenants.push(await createTenant(sql, random, index + 1, size, admin))
  return tenants
}

async function createTenant(
  sql: postgres.Sql,
  random: Random,
  place: number,
  size: number,
  admin: Admin,
): Promise<Tenant> {
  const organization_id = tenantId(place)
  const prefix = `T${place}`
  const [organization] = await sql<{ number: number }[]>`
    insert into organizations (id, name, ticket_prefix) values (${organization_id}, ${`Organization ${place}`}, ${prefix})
    returning number`
  await copyRows(sql, ticket_counters, [{ organization_id, next_number: size + 1 }])
  const mailbox_id = random.idAt(START_MS)
  const address = tenantMailbox(place)
  await copyRows(sql, mailboxes, [
    { organization_id, id: mailbox_id, address, address_key: addressKey(address), is_default: true },
  ])
  const people = await createUsers(sql, random, { organization_id, place, size }, admin)
  const company_ids = await createCompanies(sql, random, organization_id, Math.max(20, Math.floor(size / 200)))
  return {
    id: organization_id,
    number: organization!.number,
    prefix,
    size,
    mailbox_id,
    users: people,
    contacts: await createContacts(sql, random, organization_id, company_ids, Math.max(100, Math.floor(size / 10))),
    labels: await createLabels(sql, random, organization_id, size >= 100_000 ? 50 : 12),
    teams: await createTeams(sql, random, organization_id),
    policy_id: await createPolicy(sql, random, organization_id),
  }
}

type Place = { organization_id: string; place: number; size: number }

async function createUsers(sql: postgres.Sql, random: Random, { organization_id, place, size }: Place, admin: Admin) {
  const count = size >= 1_000_000 ? 200 : size >= 100_000 ? 50 : 10
  const people = Array.from({ length: count }, (_, index) => {
    const email = `agent${index + 1}@org${place}.example`
    return { id: random.idAt(START_MS + index), email, email_key: addressKey(email), name: personName(random) }
  })
  await copyRows(
    sql,
    users,
    people.map((person) => ({ ...person, password_hash: admin.password_hash })),
  )
  const members = people.map(({ id }, index) => ({
    organization_id,
    user_id: id,
    role: index < 2 ? ('admin' as const) : ('agent' as const),
  }))
  await copyRows(sql, memberships, [...members, { organization_id, user_id: admin.id, role: 'admin' }])
  return people
}

async function createCompanies(sql: postgres.Sql, random: Random, organization_id: string, count: number) {
  const rows = Array.from({ length: count }, (_, index) => ({
    organization_id,
    id: random.idAt(START_MS + index),
    name: `${rareWord(random)} ${rareWord(random)} Ltd`,
    domains: [`c${index}.example`],
    hourly_rate: 60 + random.below(90),
    currency: 'USD',
  }))
  await copyRows(sql, companies, rows)
  return rows.map(({ id }) => id)
}

async function createContacts(
  sql: postgres.Sql,
  random: Random,
  organization_id: string,
  company_ids: string[],
  count: number,
): Promise<Contact[]> {
  const rows = Array.from({ length: count }, (_, index) => {
    const id = random.idAt(START_MS + Math.floor((SPAN_MS * index) / count))
    const company = random.chance(IN_COMPANY) ? random.mostlyLow(company_ids.length) : undefined
    const name = personName(random)
    const domain = company === undefined ? 'mail.example' : `c${company}.example`
    const email = `${name.toLowerCase().replace(' ', '.')}${index}@${domain}`
    return {
      organization_id,
      id,
      company_id: company === undefined ? null : company_ids[company]!,
      name,
      email,
      email_key: addressKey(email),
      phone: `+4930${100_000 + index}`,
      search: fold(`${name} ${email}`),
    }
  })
  await copyRows(sql, contacts, rows)
  return rows
}

async function createLabels(sql: postgres.Sql, random: Random, organization_id: string, count: number) {
  const rows = Array.from({ length: count }, (_, index) => ({
    organization_id,
    id: random.idAt(START_MS + index),
    name: WORDS[100 + index]!,
    color: COLORS[index % COLORS.length]!,
  }))
  await copyRows(sql, labels, rows)
  return rows.map(({ id }) => id)
}

async function createTeams(sql: postgres.Sql, random: Random, organization_id: string) {
  const rows = Array.from({ length: TEAMS }, (_, index) => ({
    organization_id,
    id: random.idAt(START_MS + index),
    name: `Team ${index + 1}`,
  }))
  await copyRows(sql, teams, rows)
  return rows.map(({ id }) => id)
}

function personName(random: Random): string {
  return `${random.pick(FIRST_NAMES)} ${random.pick(LAST_NAMES)}`
}

function rareWord(random: Random): string {
  return WORDS[500 + random.below(15_000)]!
}

async function createPolicy(sql: postgres.Sql, random: Random, organization_id: string): Promise<string> {
  const [id, schedule_id] = [random.idAt(START_MS), random.idAt(START_MS)]
  const day = [
    ['08:00', '12:00'],
    ['13:00', '17:30'],
  ]
  const hours = { mon: day, tue: day, wed: day, thu: day, fri: day, sat: [], sun: [] }
  await sql`
    insert into schedules (organization_id, id, name, hours)
    values (${organization_id}, ${schedule_id}, 'Office', ${JSON.stringify(hours)}::text::jsonb)`
  await sql`
    insert into sla_policies (organization_id, id, name, position, schedule_id, targets, active)
    values (${organization_id}, ${id}, 'Before', 1, ${schedule_id}, '[{"first_reply_minutes": 60}]', false)`
  return id
}
