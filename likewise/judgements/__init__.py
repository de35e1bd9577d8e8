"""Labels, clicks and orderings: records, import and export, and the preferences they mean."""
