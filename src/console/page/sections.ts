/**
 * The sections of the rail, in their order. A new one is an entry here, with its text in `words/`: the first part of
 * its address, its icon, and its view, which is loaded when it is first opened.
 */
import { Building2, ChartColumn, Clock, type IconNode, Inbox as InboxIcon, Settings, Users } from 'lucide'
import type { ComponentType } from 'preact'
import { Inbox } from './inbox/inbox'
import { lazy } from './lazy'
import type { View } from './view-types'
import type { PlainKey } from './words/catalogue'

export type Section = {
  /** The first part of the address of its views. */
  path: string
  text: PlainKey
  /** The key that opens it, after `g`. */
  key: string
  icon: IconNode
  View: ComponentType<View>
  is_for_admins?: boolean
  /** The query that a link to it adds to the address. */
  query?: Record<string, string>
}

export const SECTIONS: Section[] = [
  { path: 'tickets', text: 'frame.inbox', key: 'i', icon: InboxIcon, View: Inbox, query: { status: 'open' } },
  {
    path: 'contacts',
    text: 'contacts.title',
    key: 'c',
    icon: Users,
    View: lazy(async () => (await import('./customers/contacts')).Contacts),
  },
  {
    path: 'companies',
    text: 'companies.title',
    key: 'o',
    icon: Building2,
    View: lazy(async () => (await import('./customers/company-list')).Companies),
  },
  {
    path: 'time',
    text: 'time.title',
    key: 't',
    icon: Clock,
    View: lazy(async () => (await import('./time/time-pages')).TimePages),
  },
  {
    path: 'reports',
    text: 'reports.title',
    key: 'r',
    icon: ChartColumn,
    View: lazy(async () => (await import('./reports/report-pages')).ReportPages),
  },
  {
    path: 'settings',
    text: 'settings.title',
    key: 's',
    icon: Settings,
    View: lazy(async () => (await import('./settings/settings-pages')).Settings),
  },
]
