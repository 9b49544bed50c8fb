/** A desk that looks like one of a day: a maker of bicycles, its customers, and what they wrote. */
import postgres from 'postgres'
import type { Rows } from './imports'

export const MAYA = { email: 'maya@nordwind.example', name: 'Maya Lindgren', password: 'a password of Maya' }
export const JONAS = { email: 'jonas@nordwind.example', name: 'Jonas Weber', password: 'a password of Jonas' }

type Said = [who: 'customer' | typeof MAYA | typeof JONAS, minutes_ago: number, text: string, is_internal?: true]
type Told = {
  subject: string
  who: string
  said: Said[]
  priority?: string
  status?: string
  assignee?: string
  labels?: string[]
}

const COMPANIES = ['Radhaus Kiel', 'City Couriers', 'Vélo Lumière']
const PEOPLE: [name: string, email: string, company?: number][] = [
  ['Carla Conti', 'carla@radhaus.example', 0],
  ['Emil Ek', 'emil@citycouriers.example', 1],
  ['Amélie Roux', 'amelie@velo-lumiere.example', 2],
  ['Finn Fischer', 'finn@mail.example'],
  ['Grace Okafor', 'grace@mail.example'],
  ['Hana Sato', 'hana@mail.example'],
  ['Ilir Berisha', 'ilir@citycouriers.example', 1],
  ['Lotte de Vries', 'lotte@mail.example'],
]
const LABELS: [name: string, color: string][] = [
  ['warranty', '#EF4444'],
  ['delivery', '#3B82F6'],
  ['invoice', '#22C55E'],
  ['dealer', '#8B5CF6'],
]

const TICKETS: Told[] = [
  {
    subject: 'Two of the eight frames arrived with scratches',
    who: 'Carla Conti',
    priority: 'high',
    assignee: MAYA.email,
    labels: ['dealer', 'delivery'],
    said: [
      [
        'customer',
        190,
        'Hello,\n\nour order 20418 came this morning. Two of the eight frames have scratches on the top tube, pictures follow. Can you take them back before the weekend? We have customers waiting for them.\n\nBest regards\nCarla Conti',
      ],
      [JONAS, 171, 'The carrier has noted damage on pallet 2. We can claim both frames.', true],
      [
        MAYA,
        164,
        'Hello Carla,\n\nI am sorry about that. Two new frames leave our warehouse today, and the carrier collects the damaged ones on Thursday. You need not pack them anew.\n\nMaya',
      ],
      [
        'customer',
        12,
        'That was quick, thank you! One question: does the carrier bring the label, or shall we print one?',
      ],
    ],
  },
  {
    subject: 'Brakes squeal after the last service',
    who: 'Emil Ek',
    assignee: MAYA.email,
    labels: ['warranty'],
    said: [
      [
        'customer',
        310,
        'Six of our cargo bikes squeal since the service of last week, in rain most of all. The riders are not amused.',
      ],
      [
        MAYA,
        42,
        'Hello Emil, our mechanic comes by on Monday at eight. Until then please do not clean the discs with oil.',
      ],
    ],
  },
  {
    subject: 'Invoice 2041 names our old address',
    who: 'Amélie Roux',
    labels: ['invoice'],
    said: [['customer', 26, 'Bonjour, the invoice still has the address of before our move. Could you send it again?']],
  },
  {
    subject: 'When is the green one back in stock?',
    who: 'Finn Fischer',
    said: [['customer', 48, 'I have been waiting for size M in moss green since spring. Is there a date?']],
  },
  {
    subject: 'The battery is empty after 20 km',
    who: 'Grace Okafor',
    priority: 'urgent',
    labels: ['warranty'],
    said: [['customer', 95, 'It was 70 km when the bike was new, a year ago. The display says E-17 now and then.']],
  },
  {
    subject: 'Thank you!',
    who: 'Lotte de Vries',
    status: 'resolved',
    said: [['customer', 900, 'The bell fits perfectly.']],
  },
  {
    subject: 'A second key for the lock',
    who: 'Hana Sato',
    assignee: JONAS.email,
    said: [
      ['customer', 130, 'I lost one of my two keys. The number on it is 4471.'],
      [JONAS, 118, 'A new key leaves today, with the post.'],
    ],
  },
  {
    subject: 'Twelve more cargo bikes for May',
    who: 'Ilir Berisha',
    labels: ['dealer'],
    assignee: JONAS.email,
    said: [['customer', 260, 'We would like to order twelve more, with the long rack. What is the price from ten on?']],
  },
  {
    subject: 'My parcel stands still in Hamburg',
    who: 'Lotte de Vries',
    labels: ['delivery'],
    said: [['customer', 340, 'It has been in Hamburg for three days. Can you ask the carrier?']],
  },
  {
    subject: 'How do I set the saddle?',
    who: 'Finn Fischer',
    status: 'pending',
    assignee: MAYA.email,
    said: [
      ['customer', 1500, 'It sinks a little every day.'],
      [MAYA, 1440, 'Tighten the clamp with 6 Nm. Does that hold?'],
    ],
  },
  {
    subject: 'A dealer near Lyon',
    who: 'Amélie Roux',
    labels: ['dealer'],
    said: [['customer', 420, 'A customer of ours asks who repairs your bikes near Lyon.']],
  },
  {
    subject: 'Return of order 20377',
    who: 'Hana Sato',
    labels: ['delivery'],
    assignee: MAYA.email,
    said: [['customer', 1600, 'The helmet is too large. How do I send it back?']],
  },
]

/** The rows of an import, with times before now. */
export function pictureRows(now_ms = Date.now()): Rows {
  const at = (minutes_ago: number) => new Date(now_ms - minutes_ago * 60_000).toISOString()
  const emailOf = new Map(PEOPLE.map(([name, email]) => [name, email]))
  const numberOf = (who: string) => `K-${1001 + PEOPLE.findIndex(([name]) => name === who)}`
  return {
    companies: COMPANIES.map((name, n) => ({ external_id: `company:${n}`, name })),
    users: [MAYA, JONAS].map(({ email, name }) => ({ external_id: email, email, name })),
    contacts: PEOPLE.map(([name, email, company]) => ({
      ...{ external_id: numberOf(name), name, email },
      ...(company !== undefined && { company_id: `company:${company}` }),
    })),
    labels: LABELS.map(([name, color]) => ({ external_id: name, name, color })),
    tickets: TICKETS.map(({ subject, who, said, status = 'open', priority = 'normal', assignee, labels = [] }, n) => ({
      ...{
        external_id: `order-${20418 - 7 * n}`,
        subject,
        status,
        priority,
        contact_id: numberOf(who),
        label_ids: labels,
      },
      ...{ code: `TKT-${2031 + n}`, created_at: at(said[0]![1]), updated_at: at(said.at(-1)![1]) },
      ...(assignee && { assignee_id: assignee }),
    })),
    messages: TICKETS.flatMap(({ who, said }, n) =>
      said.map(([by, minutes_ago, body, is_internal = false], place) => ({
        ...{
          external_id: `message:${n}:${place}`,
          ticket_id: `order-${20418 - 7 * n}`,
          body,
          created_at: at(minutes_ago),
        },
        ...(by === 'customer'
          ? { direction: 'inbound', channel: 'email', sender: { name: who, email: emailOf.get(who) } }
          : {
              ...(is_internal ? { is_internal } : { direction: 'outbound' }),
              sender: { name: by.name, email: by.email },
            }),
      })),
    ),
  }
}

/** Writes what an hour of that desk has in its reports. */
export async function insertFigures(database_url: string, organization_id: string): Promise<void> {
  const sql = postgres(database_url, { max: 1 })
  /** More at some times than at others, and never even. */
  const some = (most: number, salt: string) => sql`
    round(${most} * (0.3 + 0.25 * sin(n / 9.0) + 0.45 * (abs(hashtext(${salt} || n::text)) % 100) / 100.0))::integer`
  await sql`
    insert into stats (organization_id, size_s, at, mail_tickets, mail_messages, emails_sent, deliveries_ok, delivery_ms,
      requests_ok)
    select ${organization_id}, 60, date_trunc('minute', now()) - n * interval '1 minute', ${some(2, 'tickets')},
      ${some(4, 'messages')}, ${some(4, 'sent')}, 1 + ${some(8, 'ok')}, (1 + ${some(8, 'ok')}) * (40 + ${some(60, 'ms')}),
      20 + ${some(60, 'requests')}
    from generate_series(1, 59) n on conflict do nothing`
  await sql.end()
}
