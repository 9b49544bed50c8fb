/** Volume for measurements: one organization with many tickets, made by the database itself. */
import type postgres from 'postgres'

/** Adds contacts, labels and `count` tickets, each with a message, spread over the last two years. */
export async function seedTickets(sql: postgres.Sql, organization_id: string, count: number): Promise<void> {
  // An id with the time in it, as the product makes them; the rest is derived from the number.
  await sql.unsafe(`
    create or replace function pg_temp.id_at(ms bigint, salt text) returns uuid language sql as $$
      select (substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-7' || substr(d, 1, 3) || '-8' || substr(d, 4, 3) || '-' ||
        substr(d, 7, 12))::uuid
      from (select lpad(to_hex(ms), 12, '0') as h, md5(salt) as d) x
    $$`)
  const from_ms = Date.now() - 2 * 365 * 86_400_000
  const step_ms = Math.floor((2 * 365 * 86_400_000) / count)
  await sql`
    insert into contacts (organization_id, id, name, email, email_key, search)
    select ${organization_id}, pg_temp.id_at(${from_ms}::bigint + n, 'c' || n), 'Contact ' || n,
      'c' || n || '@customer.example', 'c' || n || '@customer.example', 'contact ' || n || ' c' || n || '@customer.example'
    from generate_series(1, 1000) n`
  await sql`
    insert into labels (organization_id, id, name, color)
    select ${organization_id}, pg_temp.id_at(${from_ms}::bigint + n, 'l' || n), 'Label ' || n, '#EF4444'
    from generate_series(1, 10) n`
  await sql`
    insert into tickets (organization_id, id, number, code, subject, status, priority, contact_id)
    select ${organization_id}, pg_temp.id_at(${from_ms}::bigint + n * ${step_ms}::bigint, 't' || n), n, 'TKT-' || n,
      'Ticket number ' || n,
      case when n % 100 < 77 then 'closed' when n % 100 < 90 then 'resolved' when n % 100 < 96 then 'pending' else 'open' end,
      case when n % 20 = 0 then 'urgent' when n % 5 = 0 then 'high' else 'normal' end,
      pg_temp.id_at(${from_ms}::bigint + 1 + n % 1000, 'c' || (1 + n % 1000))
    from generate_series(1, ${count}::int) n`
  await sql`
    insert into messages (organization_id, id, ticket_id, body, body_html, direction, sender_name, sender_email)
    select organization_id, pg_temp.id_at((extract(epoch from created_at) * 1000)::bigint + 1, 'm' || number), id,
      'Message of ' || code, 'Message of ' || code, 'inbound', 'Contact', 'contact@customer.example'
    from tickets where organization_id = ${organization_id}`
  await sql`
    insert into ticket_labels (organization_id, ticket_id, label_id)
    select t.organization_id, t.id, l.id from tickets t
    join labels l on l.organization_id = t.organization_id and l.name = 'Label ' || (1 + t.number % 10)
    where t.organization_id = ${organization_id} and t.number % 3 = 0`
  await sql`
    insert into ticket_search (organization_id, ticket_id, document, size)
    select t.organization_id, t.id, to_tsvector('simple', ''), 0 from tickets t
    where t.organization_id = ${organization_id}`
  await sql`update ticket_counters set next_number = ${count} + 1 where organization_id = ${organization_id}`
  await sql`vacuum (analyze)`
}
