(* Scores within a range R lose at most R^2/8 of the entropy ln n of an even spread. *)
From Coq Require Import Reals Lra Lia.
From SDPA Require Import Sums Softmax Jacobian.
Local Open Scope R_scope.

Section Entropy.
Variables (n : nat) (x : nat -> R) (a b : R).
Hypothesis n_pos : (0 < n)%nat.
Hypothesis range : forall i, (i < n)%nat -> a <= x i <= b.
Let zero := fun _ : nat => 0.
Let line t := fun i => zero i + t * x i.
Let p t := softmax n (line t).
Let mean t := sum n (fun i => p t i * x i).
Let variance t := sum n (fun i => p t i * x i ^ 2) - mean t ^ 2.
Let Z t := sum n (fun j => exp (line t j)).
(* what is lost by scores t x: ln n + sum p ln p = ln n + t mean - ln Z *)
Let lost t := ln (INR n) + t * mean t - ln (Z t).

(* Popoviciu: numbers between a and b have a variance of at most (b - a)^2/4 under any weights. *)
Lemma variance_at_most t : variance t <= (b - a) ^ 2 / 4.
Proof.
  destruct (softmax_weights n (line t) n_pos) as [Hq Hs]. fold (p t) in Hq, Hs.
  assert (H : 0 <= sum n (fun i => p t i * ((x i - a) * (b - x i)))).
  { apply sum_nonneg; intros i Hi. specialize (range i Hi).
    apply Rmult_le_pos; [auto|apply Rmult_le_pos; lra]. }
  rewrite (sum_ext n _ (fun i => (a + b) * (p t i * x i) - p t i * x i ^ 2 - (a * b) * p t i)) in H
    by (intros; ring).
  rewrite !sum_minus, !sum_scal, Hs in H. fold (mean t) in H. unfold variance.
  pose proof (pow2_ge_0 (2 * mean t - a - b)). nra.
Qed.
Lemma Z_pos t : 0 < Z t. Proof. now apply partition_pos. Qed.
Lemma derivative_Z t : derivable_pt_lim Z t (Z t * mean t).
Proof.
  replace (Z t * mean t) with (sum n (fun i => exp (line t i) * x i)).
  - exact (derivative_of_exponentials zero x t n).
  - unfold mean, p, softmax. fold (Z t). pose proof (Z_pos t). rewrite <- sum_scal.
    apply sum_ext; intros; field; lra.
Qed.
Lemma derivative_mean t : derivable_pt_lim mean t (variance t).
Proof.
  assert (G : forall m, (m <= n)%nat -> derivable_pt_lim (fun t => sum m (fun i => p t i * x i)) t
     (sum m (fun i => p t i * (x i - mean t) * x i))).
  { induction m; intro Hm; simpl; [apply derivable_pt_lim_const|].
    apply derivable_pt_lim_plus; [apply IHm; lia|].
    replace (p t m * (x m - mean t) * x m) with (p t m * (x m - mean t) * x m + p t m * 0) by ring.
    apply (derivable_pt_lim_mult (fun t => p t m) (fct_cte (x m))); [|apply derivable_pt_lim_const].
    exact (derivative_along n zero x n_pos t m Hm). }
  replace (variance t) with (sum n (fun i => p t i * (x i - mean t) * x i)); [now apply G|].
  rewrite (sum_ext n _ (fun i => p t i * x i ^ 2 - p t i * x i * mean t)) by (intros; ring).
  rewrite sum_minus, sum_scal_r. fold (mean t). unfold variance. ring.
Qed.
(* The loss grows by t times the variance of the scores under their weights. *)
Lemma derivative_lost t : derivable_pt_lim lost t (t * variance t).
Proof.
  pose proof (Z_pos t) as Zp.
  replace (t * variance t) with (0 + (1 * mean t + t * variance t) - / Z t * (Z t * mean t)) by (field; lra).
  apply (derivable_pt_lim_minus (fun t => ln (INR n) + t * mean t) (fun t => ln (Z t))).
  - apply (derivable_pt_lim_plus (fct_cte (ln (INR n))) (fun t => t * mean t));
    [apply derivable_pt_lim_const|].
    apply (derivable_pt_lim_mult id mean); [apply derivable_pt_lim_id|apply derivative_mean].
  - apply (derivable_pt_lim_comp Z ln); [apply derivative_Z|now apply derivable_pt_lim_ln].
Qed.

(* The entropy of the weights of scores between a and b falls short of ln n by (b - a)^2/8 at most. *)
Theorem entropy_loss : ln (INR n) - entropy n (softmax n x) <= (b - a) ^ 2 / 8.
Proof.
  assert (E1 : ln (INR n) - entropy n (softmax n x) = lost 1).
  { unfold lost, entropy. pose proof (Z_pos 1) as Zp.
    assert (L : forall i, softmax n x i = p 1 i).
    { intro i. apply softmax_ext. intro j. unfold line, zero. ring. }
    rewrite (sum_ext n _ (fun i => p 1 i * x i - ln (Z 1) * p 1 i)).
    - rewrite sum_minus, sum_scal. fold (mean 1). rewrite (softmax_sum n (line 1) n_pos : sum n (p 1) = 1).
      ring.
    - intros i _. rewrite !L. unfold p at 2. unfold softmax. fold (Z 1). unfold Rdiv.
      rewrite ln_mult, ln_Rinv, ln_exp by (try apply exp_pos; try apply Rinv_0_lt_compat; easy).
      unfold line, zero. ring. }
  assert (E0 : lost 0 = 0).
  { unfold lost, Z, line, zero. rewrite (sum_ext n (fun j => exp _) (fun _ => 1)), sum_const.
    - rewrite Rmult_1_r. ring.
    - intros. rewrite Rmult_0_l, Rplus_0_l. apply exp_0. }
  rewrite E1. clear E1.
  (* the mean value theorem for the loss less t^2 R^2/8 *)
  pose (g t := lost t - t ^ 2 * ((b - a) ^ 2 / 8)).
  assert (Dg : forall t, derivable_pt_lim g t (t * variance t - 2 * t * ((b - a) ^ 2 / 8))).
  { intro t. apply (derivable_pt_lim_minus lost (fun t => t ^ 2 * ((b - a) ^ 2 / 8)));
    [apply derivative_lost|].
    replace (2 * t * ((b - a) ^ 2 / 8)) with (INR 2 * t ^ 1 * ((b - a) ^ 2 / 8) + t ^ 2 * 0) by (simpl; ring).
    apply (derivable_pt_lim_mult (fun t => t ^ 2) (fct_cte ((b - a) ^ 2 / 8)));
      [apply derivable_pt_lim_pow|apply derivable_pt_lim_const]. }
  destruct (MVT_cor2 g _ 0 1 ltac:(lra) (fun c _ => Dg c)) as (t & Ht & Ht1).
  pose proof (variance_at_most t). unfold g in Ht. rewrite E0 in Ht. nra.
Qed.
End Entropy.
