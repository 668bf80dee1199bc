(* The derivative of softmax, along one score and along any line. *)
From Coq Require Import Reals Lra Lia.
From SDPA Require Import Sums Softmax.
Local Open Scope R_scope.

(* scores x with the one at l replaced by t *)
Definition upd (x : nat -> R) (l : nat) (t : R) : nat -> R := fun j => if Nat.eqb j l then t else x j.

Lemma derivative_ext (f g : R -> R) u d : (forall t, f t = g t) -> derivable_pt_lim f u d ->
  derivable_pt_lim g u d.
Proof. intros e h eps He. destruct (h eps He) as [dl hd]. exists dl. intros. rewrite <- !e. auto. Qed.

Section Line.
Variables (n : nat) (x v : nat -> R).
Hypothesis n_pos : (0 < n)%nat.
Let line t := fun i => x i + t * v i.

Lemma derivative_of_exponentials t m : derivable_pt_lim (fun t => sum m (fun i => exp (line t i))) t
  (sum m (fun i => exp (line t i) * v i)).
Proof.
  induction m; simpl; [apply derivable_pt_lim_const|]. apply derivable_pt_lim_plus; [exact IHm|].
  apply (derivable_pt_lim_comp (fun t => line t m) exp); [|apply derivable_pt_lim_exp].
  unfold line. replace (v m) with (0 + (1 * v m + t * 0)) at 1 by ring.
  apply (derivable_pt_lim_plus (fct_cte (x m)) (fun t => t * v m)); [apply derivable_pt_lim_const|].
  apply (derivable_pt_lim_mult id (fct_cte (v m))); [apply derivable_pt_lim_id|apply derivable_pt_lim_const].
Qed.
(* Along x + t v a weight changes by p_i (v_i - sum p v). *)
Theorem derivative_along t i : (i < n)%nat -> derivable_pt_lim (fun t => softmax n (line t) i) t
  (softmax n (line t) i * (v i - sum n (fun j => softmax n (line t) j * v j))).
Proof.
  intro Hi. pose proof (partition_pos n (line t) n_pos) as Z.
  assert (De : derivable_pt_lim (fun t => exp (line t i)) t (exp (line t i) * v i)).
  { apply (derivative_ext (fun t => sum (S i) (fun j => exp (line t j)) - sum i (fun j => exp (line t j)))).
    - intro. simpl. ring.
    - replace (exp (line t i) * v i) with
        (sum (S i) (fun j => exp (line t j) * v j) - sum i (fun j => exp (line t j) * v j)) by (simpl; ring).
      apply (derivable_pt_lim_minus (fun t => sum (S i) (fun j => exp (line t j))));
        apply derivative_of_exponentials. }
  match goal with |- derivable_pt_lim _ _ ?d => replace d with
    ((exp (line t i) * v i * sum n (fun j => exp (line t j)) - sum n (fun j => exp (line t j) * v j) *
      exp (line t i))
      / Rsqr (sum n (fun j => exp (line t j)))) end.
  - exact (derivable_pt_lim_div (fun t => exp (line t i)) (fun t => sum n (fun j => exp (line t j))) _ _ _
      De (derivative_of_exponentials t n) (Rgt_not_eq _ _ Z)).
  - unfold softmax, Rsqr.
    rewrite (sum_ext n (fun j => exp (line t j) / _ * v j)
      (fun j => / sum n (fun j => exp (line t j)) * (exp (line t j) * v j))) by (intros; field; lra).
    rewrite sum_scal. field. lra.
Qed.
End Line.

(* The Jacobian: by score l, weight i changes by p_i (delta_il - p_l). *)
Theorem jacobian n x i l : (i < n)%nat -> (l < n)%nat ->
  derivable_pt_lim (fun t => softmax n (upd x l t) i) (x l) (softmax n x i * (delta i l - softmax n x l)).
Proof.
  intros Hi Hl. pose (y := upd x l 0). pose (v := fun j => delta j l).
  assert (A : forall t j, y j + t * v j = upd x l t j).
  { intros t j. unfold y, v, upd, delta. destruct (Nat.eqb j l); ring. }
  assert (B : forall j, y j + x l * v j = x j).
  { intro j. rewrite A. unfold upd. destruct (Nat.eqb_spec j l); congruence. }
  apply (derivative_ext (fun t => softmax n (fun j => y j + t * v j) i)); [intro; apply softmax_ext; auto|].
  replace (softmax n x i * (delta i l - softmax n x l)) with (softmax n (fun j => y j + x l * v j) i *
    (v i - sum n (fun j => softmax n (fun j => y j + x l * v j) j * v j))).
  - apply derivative_along; lia.
  - rewrite (softmax_ext n _ x) by easy. unfold v. f_equal. f_equal.
    rewrite (sum_ext n _ (fun j => if Nat.eqb j l then softmax n x j else 0)); [now apply sum_single|].
    intros j _. rewrite (softmax_ext n _ x) by easy. unfold delta. destruct (Nat.eqb j l); ring.
Qed.
