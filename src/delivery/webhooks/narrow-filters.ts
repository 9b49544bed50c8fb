/** Takes what goes out of the filters of webhooks, so that none of them lets more pass. */
import { auditChanges } from '../../base/audit/audit'
import { changesOf } from '../../base/audit/changes-of'
import type { Scope } from '../../base/scope'
import type { IdField } from './event-filter'
import { noteFailures } from './failure'
import type { WebhookFilter } from './model'

type Named = { id: string; url: string; status: 'active' | 'failed'; filter: WebhookFilter }

/**
 * Takes an id out of filters, in the transaction of its deletion, behind the events of that. A webhook whose filter
 * names nothing else there keeps the id, which nothing has any more, and fails: its deliveries wait, and the admins are
 * told.
 */
export async function takeFromFilters(scope: Scope, field: IdField, id: string): Promise<void> {
  const { sql, organization_id, after_commit = [] } = scope
  const named = await sql<Named[]>`
    select id, url, status, filter from webhooks
    where organization_id = ${organization_id} and deleted_at is null
      and filter -> ${field}::text @> ${JSON.stringify([id])}::text::jsonb
    order by id for no key update`
  for (const webhook of named) {
    const left = webhook.filter[field]!.filter((other) => other !== id)
    if (left.length > 0) await narrow(scope, webhook, { ...webhook.filter, [field]: left })
  }
  const failing = named.filter(({ status, filter }) => status === 'active' && filter[field]!.length === 1)
  if (failing.length === 0) return
  const ids = failing.map((webhook) => webhook.id)
  await sql`
    update webhooks set status = 'failed', updated_at = now()
    where organization_id = ${organization_id} and id = any(${ids}::uuid[])`
  const error = `what its filter names in ${field} was deleted`
  const failed = failing.map((webhook) => ({ id: webhook.id, url: webhook.url, error, response_code: null }))
  await noteFailures({ ...scope, now_s: null, after_commit }, failed)
}

async function narrow(scope: Scope, { id, filter: before }: Named, filter: WebhookFilter): Promise<void> {
  const { sql, organization_id } = scope
  await sql`
    update webhooks set filter = ${JSON.stringify(filter)}::text::jsonb, updated_at = now()
    where organization_id = ${organization_id} and id = ${id}`
  const changes = changesOf({ filter: before }, { filter })
  await auditChanges(scope, { action: 'webhook.updated', resource: { type: 'webhook', id }, changes })
}
